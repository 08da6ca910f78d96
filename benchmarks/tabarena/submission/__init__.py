"""jaxtree as a model of TabArena: the files that its contributors put into `tabarena/models/<name>/`."""
