"""The installer: registers foveal with the hosts, by editing their settings files; knows no daemon."""
