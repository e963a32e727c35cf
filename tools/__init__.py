"""What the checkout is worked on with; not part of the package."""
