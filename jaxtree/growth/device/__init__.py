"""XLA's engine: growth level by level; a level is opened, scored, split and routed."""
