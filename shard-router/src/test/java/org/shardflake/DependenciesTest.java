/*
 * Copyright The Shardflake Authors
 * SPDX-License-Identifier: Apache-2.0
 */
package org.shardflake;

import static com.tngtech.archunit.lang.syntax.ArchRuleDefinition.classes;

import com.tngtech.archunit.core.importer.ClassFileImporter;
import com.tngtech.archunit.core.importer.ImportOption;
import org.junit.jupiter.api.Test;

class DependenciesTest {

    @Test
    void needsNothingButTheJdk() {
        classes()
                .that()
                .resideInAPackage("org.shardflake")
                .should()
                .onlyDependOnClassesThat()
                .resideInAnyPackage("java..", "org.shardflake", "org.jspecify.annotations")
                .check(new ClassFileImporter()
                        .withImportOption(ImportOption.Predefined.DO_NOT_INCLUDE_TESTS)
                        .importPackages("org.shardflake"));
    }
}
