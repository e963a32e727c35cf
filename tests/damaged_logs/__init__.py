"""Damaged logs of every format: samples, what is done to them, and whether readers answer truthfully."""
