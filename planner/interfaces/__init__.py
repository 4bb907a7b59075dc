"""Faces: the command line."""
