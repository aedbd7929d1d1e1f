#!/usr/bin/env bash
# Key and trust stores of Java's keytool, for tests/unit/net/test_stores.py:  write_stores.sh tests/golden/stores
# The key is worth nothing: it is in this repository.
set -euo pipefail
cd "$1"
rm -f ./*

keytool -genkeypair -alias own -keyalg EC -groupname secp256r1 -dname CN=golden -ext san=dns:localhost -validity 36500 \
  -storetype PKCS12 -keystore own.p12 -storepass storepass
keytool -exportcert -rfc -alias own -keystore own.p12 -storepass storepass -file own.pem
keytool -importkeystore -srckeystore own.p12 -srcstorepass storepass -deststoretype JKS -destkeystore own.jks \
  -deststorepass storepass -destkeypass keypass -srcalias own
keytool -J-Dkeystore.pkcs12.legacy -importkeystore -srckeystore own.p12 -srcstorepass storepass -deststoretype PKCS12 \
  -destkeystore legacy.p12 -deststorepass storepass -srcalias own
for type in JKS PKCS12 JCEKS; do
  keytool -importcert -noprompt -alias ca -file own.pem -storetype $type -keystore "trust.${type,,}" -storepass storepass
done
