"""A plan made ready for its replay: what each pool is, and who comes."""
