"""Who computes what: tiles of workgroups, clusters, Stream-K, lines, and how shares are added up."""
