/*
 * Copyright The Shardflake Authors
 * SPDX-License-Identifier: Apache-2.0
 */

import java.io.IOException;
import java.net.URL;
import java.net.URLClassLoader;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.StandardCopyOption;
import java.util.Collections;
import java.util.jar.Attributes;
import java.util.jar.JarEntry;
import java.util.jar.JarFile;
import java.util.jar.JarOutputStream;
import java.util.jar.Manifest;
import org.objectweb.asm.ClassReader;
import org.objectweb.asm.ClassVisitor;
import org.objectweb.asm.ClassWriter;
import org.objectweb.asm.MethodVisitor;
import org.objectweb.asm.Opcodes;

/**
 * Makes a copy of picocli that starts quickly, when the distribution is built. Its class files, which are of Java 5, become ones of
 * Java 17 with the frames that let the JVM verify them in one pass; and it does not look for Groovy, for which the JVM would open
 * every jar of the class path. src/docs/decisions/0029 says what that saves.
 *
 * <p>The copy has another file name than the library, and its manifest says what was changed.
 */
public final class QuickPicocli {

    /** The method that looks for it. */
    private static final String LOOKS_FOR_GROOVY = "loadClosureClass";

    private static final Attributes.Name NOTE = new Attributes.Name("Shardflake-Note");

    private static boolean found;

    /** Takes the library's jar and the name of the copy. */
    public static void main(String[] args) throws IOException {
        Path jar = Path.of(args[0]);
        Path copy = Path.of(args[1]);
        Path modern = Path.of(args[1] + ".tmp");
        try (JarFile old = new JarFile(jar.toFile());
                URLClassLoader classes = new URLClassLoader(new URL[] {jar.toUri().toURL()})) {
            Manifest manifest = old.getManifest();
            manifest.getMainAttributes()
                    .put(NOTE, "changed: class files of Java 17, with frames for the verifier; does not look for groovy.lang.Closure");
            try (JarOutputStream out = new JarOutputStream(Files.newOutputStream(modern))) {
                out.putNextEntry(like(old.getJarEntry(JarFile.MANIFEST_NAME)));
                manifest.write(out);
                out.closeEntry();
                for (JarEntry entry : Collections.list(old.entries())) {
                    if (!entry.getName().equals(JarFile.MANIFEST_NAME)) {
                        copy(old, entry, classes, out);
                    }
                }
            }
        }
        if (!found) {
            throw new IOException("%s has no method %s any more: see what it does instead".formatted(jar, LOOKS_FOR_GROOVY));
        }
        Files.move(modern, copy, StandardCopyOption.REPLACE_EXISTING);
    }

    private static void copy(JarFile old, JarEntry entry, ClassLoader classes, JarOutputStream out) throws IOException {
        byte[] content = old.getInputStream(entry).readAllBytes();
        boolean isClass = entry.getName().endsWith(".class") && !entry.getName().endsWith("module-info.class");
        out.putNextEntry(like(entry));
        out.write(isClass ? modern(content, classes) : content);
        out.closeEntry();
    }

    private static JarEntry like(JarEntry entry) {
        JarEntry copy = new JarEntry(entry.getName());
        copy.setTime(entry.getTime());
        return copy;
    }

    private static byte[] modern(byte[] classFile, ClassLoader classes) {
        ClassWriter writer = new ClassWriter(ClassWriter.COMPUTE_FRAMES) {
            @Override
            protected ClassLoader getClassLoader() {
                return classes;
            }
        };
        ClassVisitor version = new ClassVisitor(Opcodes.ASM9, writer) {
            @Override
            public void visit(int old, int access, String name, String signature, String parent, String[] interfaces) {
                super.visit(Opcodes.V17, access, name, signature, parent, interfaces);
            }

            @Override
            public MethodVisitor visitMethod(
                    int access, String name, String descriptor, String signature, String[] exceptions) {
                MethodVisitor method = super.visitMethod(access, name, descriptor, signature, exceptions);
                if (!name.equals(LOOKS_FOR_GROOVY)) {
                    return method;
                }
                found = true;
                method.visitCode();
                method.visitInsn(Opcodes.ACONST_NULL);
                method.visitInsn(Opcodes.ARETURN);
                method.visitMaxs(1, 0);
                method.visitEnd();
                return null;
            }
        };
        new ClassReader(classFile).accept(version, ClassReader.SKIP_FRAMES);
        return writer.toByteArray();
    }
}
