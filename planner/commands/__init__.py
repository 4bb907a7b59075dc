"""From the pools of a plan to the command lines of their engines."""
