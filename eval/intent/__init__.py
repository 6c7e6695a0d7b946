"""The authored training mails of the intent stage and the script that trains its classifier."""
