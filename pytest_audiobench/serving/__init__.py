"""Any model of ours behind HTTP: predictions_v1 and the OpenAI chat shape; and whether a server keeps the contract."""
