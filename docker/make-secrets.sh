#!/bin/sh
# Makes what docker-compose.yml has as secrets, in docker/secrets. What is there already stays as it is.
set -eu
umask 077
cd "$(dirname "$0")/secrets"
chmod 700 .

random() { od -An -v -N "$1" -tx1 /dev/urandom | tr -d ' \n'; }

secret() {
  [ -s "$1" ] || printf '%s\n' "$2" > "$1"
  # The users of the containers are not this one. The folder is closed.
  chmod 444 "$1"
}

secret token "$(random 24)"
secret mqtt_host_password "$(random 24)"
secret mqtt_client_password "$(random 24)"
# For a fleet: the login at its store, and the key that encrypts secrets.
secret nats_login "lupine:$(random 24)"
secret secret_key "$(random 32)"
