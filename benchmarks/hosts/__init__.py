"""What it costs to audit many hosts over ssh, beside tools of the same job."""
