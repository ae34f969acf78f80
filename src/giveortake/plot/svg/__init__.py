"""Charts as SVG that is written by hand, for pages that run no script; needs nothing but what is here."""
