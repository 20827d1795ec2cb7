/*
 * Copyright The Shardflake Authors
 * SPDX-License-Identifier: Apache-2.0
 */
package org.shardflake.deploy;

import static org.assertj.core.api.Assertions.assertThat;

import java.io.InputStream;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;
import java.util.Set;
import java.util.TreeSet;
import java.util.stream.Stream;
import javax.xml.parsers.DocumentBuilderFactory;
import org.junit.jupiter.api.Test;
import org.w3c.dom.Document;
import org.w3c.dom.Element;
import org.w3c.dom.NodeList;

/** The changelogs of {@link LiquibaseDifferenceTest} have all that Liquibase's own schema of changelogs knows. */
class LiquibaseSchemaTest {

    private static final String SCHEMA = "/www.liquibase.org/xml/ns/dbchangelog/dbchangelog-latest.xsd";
    private static final Path CHANGELOGS = Path.of("src/test/resources/org/shardflake/deploy/plain");

    /** Elements that {@link LiquibaseDifferenceTest} sees refused. */
    private static final Set<String> REFUSED = Set.of("customChange", "executeCommand", "stop");

    /** Attributes that are refused by name or by Liquibase, or of no effect on PostgreSQL or on one schema. */
    private static final Set<String> LEFT_OUT = Set.of(
            // databases without catalogs; tablespaces and other storage, which servers may lack
            "catalogName",
            "tablespace",
            "primaryKeyTablespace",
            "rowDependencies",
            "tableType",
            "baseTableCatalogName",
            "referencedTableCatalogName",
            "forIndexCatalogName",
            "existingTableCatalogName",
            "newTableCatalogName",
            // schemas, of which a shard has one
            "forIndexSchemaName",
            "existingTableSchemaName",
            "newTableSchemaName",
            "referencedTableSchemaName",
            // refused by Liquibase on PostgreSQL
            "ordered",
            "beforeColumn",
            "afterColumn",
            "position",
            // refused: a program, or the end of an update
            "executable",
            "os",
            "timeout",
            "class",
            "runWith",
            "runWithSpoolFile",
            "failOnError",
            // of other tools
            "changeLogId",
            "resourceComparator",
            "filter",
            "target",
            "author",
            "defaultValueSequenceCurrent",
            "change",
            "remove");

    @Test
    void everyElementAndAttributeIsInAChangelog() throws Exception {
        Document schema;
        try (InputStream text = liquibase.Liquibase.class.getResourceAsStream(SCHEMA)) {
            schema = DocumentBuilderFactory.newInstance().newDocumentBuilder().parse(text);
        }
        StringBuilder changelogs = new StringBuilder();
        try (Stream<Path> files = Files.walk(CHANGELOGS)) {
            for (Path file :
                    files.filter(path -> path.toString().endsWith(".xml")).toList()) {
                changelogs.append(Files.readString(file, StandardCharsets.UTF_8));
            }
        }
        String all = changelogs.toString();
        Set<String> missing = new TreeSet<>();
        for (String element : names(schema, "xsd:element", List.of("name", "ref"))) {
            if (!REFUSED.contains(element)
                    && !all.contains("<" + element)
                    && !Set.of("arg", "modifyChangeSets", "validCheckSum").contains(element)) {
                missing.add("<" + element + ">");
            }
        }
        for (String attribute : names(schema, "xsd:attribute", List.of("name"))) {
            if (!LEFT_OUT.contains(attribute) && !all.contains(" " + attribute + "=")) {
                missing.add(attribute);
            }
        }
        assertThat(missing).isEmpty();
    }

    private static Set<String> names(Document schema, String tag, List<String> attributes) {
        Set<String> names = new TreeSet<>();
        NodeList nodes = schema.getElementsByTagName(tag);
        for (int i = 0; i < nodes.getLength(); i++) {
            Element node = (Element) nodes.item(i);
            for (String attribute : attributes) {
                if (node.hasAttribute(attribute)) {
                    names.add(node.getAttribute(attribute));
                }
            }
        }
        return names;
    }
}
