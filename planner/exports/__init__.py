"""Plans in the words of other programs: what they deploy, scale, watch and test with."""
