"""`make image` runs this after the build: the image as a cluster runs it, with a root that cannot be written."""
