"""What it costs to judge a built image, beside a tool of the same job."""
