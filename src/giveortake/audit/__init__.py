"""Black-box audits."""
