"""HTTP API events, and the endpoints behind them."""
