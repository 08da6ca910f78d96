"""Tables in files: CSV and other lines of cells, ARFF, Parquet and Arrow."""
