"""What must stay as cheap as it is: exact counts, which no noise can blur."""
