"""Three tiers on real machines: certificates, the wire, the server and its nodes."""
