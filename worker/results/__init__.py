"""Results of runs: the result record, its export as JSONL, CSV and Parquet, and scores."""
