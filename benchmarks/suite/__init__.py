"""jaxtree beside its peers: the same data, the same task, one process, taking turns."""
