"""TabArena's protocol on real tables, and jaxtree as a model of its board."""
