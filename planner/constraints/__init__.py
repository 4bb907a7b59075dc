"""Named constraints: each judges candidates or a finished choice, without any solver."""
