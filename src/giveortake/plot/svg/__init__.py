"""Charts as SVG, written without any library, for pages that run no script."""
