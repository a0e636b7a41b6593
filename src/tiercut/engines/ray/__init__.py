"""Engine `ray`: shards of clients on the workers of a Ray cluster."""
