"""Growth itself, level by level: chunks of nodes, their splits, and entries sent to the children."""
