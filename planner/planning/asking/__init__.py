"""A problem asked again: with limits moved, without some kinds, below bounds."""
