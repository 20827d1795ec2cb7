/*
 * Copyright The Shardflake Authors
 * SPDX-License-Identifier: Apache-2.0
 */
package org.shardflake.website;

import java.nio.file.Path;

/**
 * A link or an image of a document, within the repository.
 *
 * @param text as the document has it
 * @param file it leads to, relative to the root of the repository
 * @param anchor within the file, or empty
 */
record Link(String text, Path file, String anchor, boolean isImage) {

    static boolean isExternal(String destination) {
        return destination.matches("[a-z]+:.*");
    }

    /** The link from a document to a destination such as {@code ids.md#forms}. */
    static Link of(Path document, String destination, boolean isImage) {
        int hash = destination.indexOf('#');
        String path = hash < 0 ? destination : destination.substring(0, hash);
        Path file = path.isEmpty()
                ? document
                : document.resolveSibling(Path.of(path)).normalize();
        return new Link(destination, file, hash < 0 ? "" : destination.substring(hash + 1), isImage);
    }
}
