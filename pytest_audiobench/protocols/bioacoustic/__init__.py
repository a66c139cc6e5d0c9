"""The rules of BEANS-Next, kept with their defects to repeat its numbers."""
