"""Signing in at the front. A service account is made for this run, its JWT is
checked as Google does, and tokens run out."""

import base64
import json
import secrets
import time

from cryptography.exceptions import InvalidSignature
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import padding, rsa

from bigquery_sql import Refused

GRANT = "urn:ietf:params:oauth:grant-type:jwt-bearer"
EMAIL = "loader@tidemark-test.iam.gserviceaccount.com"


def unpack(text):
    return base64.urlsafe_b64decode(text + "=" * (-len(text) % 4))


class SignIn:
    def __init__(self, token_uri):
        self.token_uri = token_uri
        self.key = rsa.generate_private_key(public_exponent=65537,
                                            key_size=2048)
        self.tokens = {}
        self.seconds = 3600  # the life of a token

    def account(self):
        """The file that an administrator gets."""
        pem = self.key.private_bytes(
            serialization.Encoding.PEM, serialization.PrivateFormat.PKCS8,
            serialization.NoEncryption()).decode()
        return {"type": "service_account", "project_id": "tidemark-test",
                "private_key_id": "front", "private_key": pem,
                "client_email": EMAIL, "token_uri": self.token_uri}

    def token(self):
        seconds = self.seconds
        token = "ya29." + secrets.token_hex(24)
        self.tokens[token] = time.time() + seconds
        return {"access_token": token, "expires_in": seconds,
                "token_type": "Bearer"}

    def valid(self, token):
        return self.tokens.get(token, 0) > time.time()

    def expire(self):
        self.tokens.clear()

    def exchange(self, asked):
        if asked.get("grant_type") != GRANT:
            raise Refused(400, "unsupported_grant_type", "grant_type")
        signed, _, signature = asked["assertion"].rpartition(".")
        head, claims = (json.loads(unpack(part))
                        for part in signed.split("."))
        try:
            self.key.public_key().verify(
                unpack(signature), signed.encode(), padding.PKCS1v15(),
                hashes.SHA256())
        except InvalidSignature:
            raise Refused(400, "invalid_grant",
                          "Invalid JWT Signature.") from None
        now = time.time()
        if head["alg"] != "RS256" or claims["iss"] != EMAIL or \
                claims["aud"] != self.token_uri or \
                "bigquery" not in claims["scope"] or \
                not now - 300 < claims["iat"] <= now + 10 < claims["exp"] \
                or claims["exp"] > claims["iat"] + 3600:
            raise Refused(400, "invalid_grant", "Invalid JWT")
        return self.token()
