"""Published results, and the documents that quote them."""
