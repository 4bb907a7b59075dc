"""Words: plans, estimates and catalog entries as text for people, and as JSON bytes for programs."""
