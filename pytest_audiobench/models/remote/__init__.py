"""What every model behind a server of others needs: its address, keys, a budget, a pace."""
