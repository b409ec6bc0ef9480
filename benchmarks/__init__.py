"""Speed and memory as ratios within one run: against peers, against a floor, against size."""
