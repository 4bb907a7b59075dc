"""The production debugger: a graph made from rules, walked over what was observed."""
