"""Records of the verbs' decisions about pods, stored compactly for later reading."""
