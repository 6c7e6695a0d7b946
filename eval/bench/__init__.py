"""The benchmark: a made-up mailbox, the product beside its peers on it, and what that cost."""
