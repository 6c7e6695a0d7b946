"""The code that reads and writes `state/`: blobs, ledger, record cache, publisher, quarantine, curated files."""
