"""The console: pages for analysts and custodians, drawn on the server, readable without a script."""
