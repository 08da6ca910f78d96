"""Ways to choose among splits of equal gain: how often there is a choice, and what each way scores on test rows."""
