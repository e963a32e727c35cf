"""Two ways to R, one function each way: a plain list in, a plain list out."""
