"""What broker tests share: clients that know nothing of sparkmirror, and a mirror as a child process."""
