"""The wheel as a user has it: installed in an environment that knows nothing of this folder, and used there."""
