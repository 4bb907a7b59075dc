"""Many independent questions at once, on this machine or on others."""
