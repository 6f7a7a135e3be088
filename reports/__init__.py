"""What a run leaves behind: results, their schema, and the forms in which people and machines read them."""
