"""Many trees on one table: drawn, grown in batches, packed in one table of nodes."""
