"""What could be bought and run: lots of the market, and configurations to place on them."""
