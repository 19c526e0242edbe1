"""The console's HTTP side: who may ask, which paths there are, and the stream of changes."""
